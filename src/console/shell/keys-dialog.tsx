import { Dialog } from "../parts/dialog.tsx";
import { activeShortcuts } from "../parts/shortcuts.ts";

/** The keys of what is on the page now. */
export default function KeysDialog(props: { readonly open: boolean; onOpenChange(open: boolean): void }) {
  return (
    <Dialog title="Keys" {...props}>
      <dl className="keys">
        {props.open &&
          activeShortcuts().map(({ keys, does }) => (
            <div key={keys + does}>
              <dt>
                {[...keys].map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
      </dl>
    </Dialog>
  );
}
