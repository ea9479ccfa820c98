let hasMovedOnce = false;
// The router moves by `history.pushState`, and says so by an event of that name.
window.addEventListener("pushState", () => {
  hasMovedOnce = true;
});

/**
 * Whether the present screen was opened from another one of this page, and not by touch: then a
 * screen for typing may take the focus. After a load the focus begins at the top, and on a phone
 * it would bring up the keyboard.
 */
export function mayTakeFocus(): boolean {
  return hasMovedOnce && !isTouch();
}

/** Whether the page is used by touch. */
export function isTouch(): boolean {
  return window.matchMedia("(pointer: coarse)").matches;
}
