/** The paths of the pages' icons, on a field of 16 by 16. */
const paths = {
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M6 6h7v7H6zM10 6V3H3v7h3",
  done: "M3 8.5l3.5 3.5L13 4.5",
  chevron: "M4 6l4 4 4-4",
  back: "M10 3L5 8l5 5",
  send: "M2 8l12-5-5 12-2-5z",
  stop: "M4 4h8v8H4z",
  again: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
  fork: "M5 5.5a1.75 1.75 0 1 0-.01 0M11 5.5a1.75 1.75 0 1 0-.01 0M8 14a1.75 1.75 0 1 0-.01 0M5 5.5V7q0 1.5 1.5 1.5h3Q11 8.500 11 7V5.500M8 8.500v2",
  picture: "M2 3h12v10H2zM2 11l4-4 3 3 2-2 3 3",
  tool: "M10 2a4 4 0 0 0-3.6 5.6L2 12l2 2 4.4-4.4A4 4 0 0 0 14 6l-2.5 1.5-2-2L11 3z",
  plus: "M8 3v10M3 8h10",
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon beside a text, or in a button that has a label: it says nothing by itself. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
