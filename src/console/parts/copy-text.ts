import { toast, toastError } from "./toasts.tsx";

/** Puts a text into the clipboard, and says so; also where a page without https has no clipboard. */
export async function copyText(text: string): Promise<void> {
  try {
    if (window.isSecureContext) await navigator.clipboard.writeText(text);
    else copyBySelection(text);
    toast("Copied.");
  } catch (error) {
    toastError(error);
  }
}

function copyBySelection(text: string): void {
  const field = document.body.appendChild(document.createElement("textarea"));
  const before = document.activeElement;
  field.value = text;
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  if (!isDone) throw new Error("The browser does not let this page copy. Select the text and copy it.");
}
