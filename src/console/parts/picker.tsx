import { Combobox } from "@base-ui/react/combobox";
import { useId } from "react";
import { Icon } from "./icon.tsx";

/** One choice; `detail` stands beside its label. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly detail?: string | undefined;
}

interface PickerProps {
  readonly label: string;
  readonly choices: readonly Choice[];
  readonly value: string | null;
  onChange(value: string | null): void;
  readonly placeholder?: string;
  readonly hideLabel?: boolean;
  /** Whether the choice can be taken back. */
  readonly clearable?: boolean;
}

/** A combobox: a choice out of many, found by typing. */
export function Picker(props: PickerProps) {
  const { label, choices, value, onChange, placeholder = "Choose…", hideLabel = false, clearable = false } = props;
  const id = useId();
  const chosen = choices.find((choice) => choice.value === value) ?? null;
  return (
    <Combobox.Root
      items={choices}
      value={chosen}
      onValueChange={(choice: Choice | null) => onChange(choice?.value ?? null)}
      isItemEqualToValue={(item: Choice, other: Choice) => item.value === other.value}
      autoHighlight
      itemToStringLabel={(choice: Choice) => choice.label}
    >
      <div className="field">
        <label htmlFor={id} className={hideLabel ? "unseen" : undefined}>
          {label}
        </label>
        <Combobox.InputGroup className="picker">
          <Combobox.Input id={id} placeholder={placeholder} />
          {clearable && (
            <Combobox.Clear className="button quiet only-icon clear" aria-label={`Clear ${label}`}>
              <Icon name="close" />
            </Combobox.Clear>
          )}
          <Combobox.Trigger className="button quiet only-icon" aria-label={`Show choices of ${label}`}>
            <Icon name="chevron" />
          </Combobox.Trigger>
        </Combobox.InputGroup>
      </div>
      <Combobox.Portal>
        <Combobox.Positioner className="positioner" sideOffset={4}>
          <Combobox.Popup className="popup">
            <Combobox.Empty>
              <p className="popup-empty">Nothing matches.</p>
            </Combobox.Empty>
            <Combobox.List className="popup-list">
              {(choice: Choice) => (
                <Combobox.Item
                  key={choice.value}
                  value={choice}
                  className="popup-item"
                  aria-label={choice.label}
                  aria-description={choice.detail}
                >
                  <span>{choice.label}</span>
                  {choice.detail !== undefined && <span className="faint">{choice.detail}</span>}
                </Combobox.Item>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}
