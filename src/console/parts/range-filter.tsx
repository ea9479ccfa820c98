import { useId } from "react";
import {
  customDays,
  customName,
  dayPeriods,
  daysIn,
  isOtherDays,
  olderMonthsOf,
  type PeriodName,
  periods,
  periodText,
  spanOf,
} from "./periods.ts";

interface RangeFilterProps {
  /** The name in the address; undefined where it has none. */
  readonly value: string | undefined;
  onChange(name: string): void;
  /** What no name means. */
  readonly usual: PeriodName | "any";
  /** Those that can be chosen; all where it is left out. */
  readonly names?: readonly PeriodName[];
  /** Whether it is about whole days, as reports by the day are: then only those are left, and older months can be chosen too. */
  readonly ofDays?: boolean;
  /** The present moment, by whose calendar days are. */
  readonly now: Date;
}

const custom = "custom";

/** The one control that says which time a screen is about: a choice, with two dates beside it for any other days. */
export function RangeFilter({
  value,
  onChange,
  usual,
  ofDays = false,
  names = ofDays ? dayPeriods : undefined,
  now,
}: RangeFilterProps) {
  const id = useId();
  const days = customDays(value);
  const older = monthsFor(value, ofDays ? olderMonthsOf(now) : []);
  const known = periods.filter(({ name }) => names === undefined || names.includes(name));
  const isKnown = [...known, ...older].some(({ name }) => name === value);
  const chosen = days !== null ? custom : isKnown ? value : usual;
  function choose(name: string): void {
    if (name === custom) onChange(customName(daysOf(value ?? usual, now)));
    else onChange(name === usual ? "" : name);
  }
  return (
    <>
      <div className="field">
        <label htmlFor={id}>Time</label>
        <select id={id} value={chosen} onChange={(event) => choose(event.target.value)}>
          {usual === "any" && <option value="any">Any</option>}
          {known.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
          {older.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
          <option value={custom}>Custom…</option>
        </select>
      </div>
      {days !== null && (
        <>
          <DayField
            label="From"
            value={days.from}
            max={days.to}
            onChange={(from) => onChange(customName({ ...days, from }))}
          />
          <DayField
            label="To"
            value={days.to}
            min={days.from}
            onChange={(to) => onChange(customName({ ...days, to }))}
          />
        </>
      )}
    </>
  );
}

/** These months, with that of the address where it is another one: links lead to any month. */
function monthsFor(value: string | undefined, months: readonly { readonly name: string; readonly label: string }[]) {
  const isOther = isOtherDays(value) && customDays(value) === null && months.every(({ name }) => name !== value);
  return isOther && value !== undefined ? [...months, { name: value, label: periodText(value) ?? value }] : months;
}

/** The days that stand there when a person begins to choose them: those of the time before. */
function daysOf(name: string, now: Date) {
  const days = daysIn(name, now);
  if (days !== null) return days;
  const today = daysIn("today", now) ?? { from: "", to: "" };
  const from = spanOf(name, now)?.from;
  return from === undefined ? today : { ...today, from: daysIn("today", from)?.from ?? today.from };
}

interface DayFieldProps {
  readonly label: string;
  readonly value: string;
  readonly min?: string;
  readonly max?: string;
  onChange(day: string): void;
}

/** A day. One that is not whole yet, or lies beyond the other one, is not taken over. */
function DayField({ label, value, min, max, onChange }: DayFieldProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="date"
        defaultValue={value}
        min={min}
        max={max}
        onChange={({ target }) => target.value !== "" && target.validity.valid && onChange(target.value)}
      />
    </div>
  );
}
