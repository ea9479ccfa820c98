import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { KeepFilters, SavedFilters } from "./saved-filters.tsx";
import { useShortcuts } from "./shortcuts.ts";

/** The filters above a list; with `keeps`, a person may keep some of them in the browser. */
export function FilterBar({ children, keeps = false }: { readonly children: ReactNode; readonly keeps?: boolean }) {
  const place = useRef<HTMLElement>(null);
  const focus = () => place.current?.querySelector<HTMLElement>("input[type=search], input, select")?.focus();
  useShortcuts([{ keys: "/", does: "Go to the filters", act: focus }]);
  return (
    <search className="filter-bar" ref={place}>
      <form onSubmit={(event) => event.preventDefault()}>
        {children}
        {keeps && <KeepFilters />}
      </form>
      {keeps && <SavedFilters />}
    </search>
  );
}

interface FilterProps {
  readonly label: string;
  readonly value: string | undefined;
  onChange(value: string): void;
}

type SelectFilterProps = FilterProps & {
  readonly options: readonly (string | readonly [string, string])[];
  /** What the first choice is called, which is no filter. */
  readonly any?: string;
};

/** A filter with few values; each is its own label, or `[value, label]`. */
export function SelectFilter(props: SelectFilterProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      <select id={id} value={props.value ?? ""} onChange={(event) => props.onChange(event.target.value)}>
        <option value="">{props.any ?? "Any"}</option>
        {props.options.map((option) => {
          const [value, label] = typeof option === "string" ? [option, option] : option;
          return (
            <option key={value} value={value}>
              {label}
            </option>
          );
        })}
      </select>
    </div>
  );
}

type TextFilterProps = FilterProps & {
  readonly type?: string;
  readonly suggestions?: readonly string[];
  /** Whether sentences are typed here. */
  readonly isLong?: boolean;
};

/** A filter that is typed; it is applied 400 ms after the last key, and at once with Enter. */
export function TextFilter(props: TextFilterProps) {
  const { label, value = "", onChange, type = "search", suggestions, isLong = false } = props;
  const id = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text.trim()), 400);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <div className={isLong ? "field long" : "field"}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type={type}
        list={suggestions && `${id}-list`}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Enter" && onChange(text.trim())}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
    </div>
  );
}
