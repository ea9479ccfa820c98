import { Menu } from "@base-ui/react/menu";
import { Icon } from "./icon.tsx";

/** One entry of a menu. */
export interface MenuAction {
  readonly label: string;
  act(): void;
  readonly disabled?: boolean;
}

/** A button that opens a list of further actions. */
export function ActionMenu({ label, actions }: { readonly label: string; readonly actions: readonly MenuAction[] }) {
  return (
    <Menu.Root>
      <Menu.Trigger className="button plain">
        {label}
        <Icon name="chevron" />
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className="positioner" sideOffset={4} align="end">
          <Menu.Popup className="popup">
            {actions.map(({ label: name, act, disabled = false }) => (
              <Menu.Item key={name} className="popup-item" disabled={disabled} onClick={act}>
                {name}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
