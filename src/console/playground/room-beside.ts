/** Whether the workbench stands beside the conversation, with all its parts open; above it, who wants one opens it (playground.css). */
export function hasRoomBeside(): boolean {
  return window.matchMedia("(min-width: 64rem)").matches;
}
