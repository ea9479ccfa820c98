import type { ReactNode } from "react";
import { durationText, exactText } from "./moment.ts";
import { placeOf, rangeOf } from "./span-place.ts";
import type { BadgeTone } from "./tone.ts";

/** One bar: what took from when to when; `until` null is still under way. */
export interface Span {
  readonly id: string;
  readonly label: ReactNode;
  readonly from: string;
  readonly until: string | null;
  /** How far it is indented: what happened within what. */
  readonly depth?: number;
  readonly tone?: BadgeTone;
  readonly detail?: ReactNode;
  /** A moment within it that stands out, such as the first text. */
  readonly mark?: string;
}

interface WaterfallProps {
  readonly caption: string;
  readonly spans: readonly Span[];
  /** The bar whose contents are shown beside them, and the choice of another one. */
  readonly chosen?: string | null;
  onChoose?(id: string): void;
}

/** When each of several things began and ended, as bars below one another. */
export function Waterfall({ caption, spans, chosen, onChoose }: WaterfallProps) {
  const now = Date.now();
  const { begin, length } = rangeOf(spans, now);
  return (
    <ol className="waterfall" aria-label={caption}>
      {spans.map(({ id, label, from, until, depth = 0, tone = "active", detail, mark }) => {
        const { offset, width, milliseconds } = placeOf(from, until, begin, length, now);
        const exact = `${exactText(from)} – ${until === null ? "now" : exactText(until)}`;
        return (
          <li
            key={id}
            className={id === chosen ? "chosen" : undefined}
            data-choosable={onChoose !== undefined || undefined}
          >
            <span className="waterfall-label" style={{ paddingInlineStart: `${depth}rem` }}>
              {onChoose === undefined ? (
                label
              ) : (
                <button type="button" aria-pressed={id === chosen} onClick={() => onChoose(id)}>
                  {label}
                </button>
              )}
            </span>
            <span className="waterfall-track" title={exact}>
              <i className={tone} style={{ insetInlineStart: `${offset}%`, inlineSize: `${width}%` }} />
              {mark !== undefined && (
                <b
                  title={`First text: ${exactText(mark)}`}
                  style={{ insetInlineStart: `${placeOf(mark, mark, begin, length, now).offset}%` }}
                />
              )}
            </span>
            <span className="waterfall-time">
              {durationText(milliseconds)}
              {until === null && "…"}
            </span>
            {detail !== undefined && (
              <span className="waterfall-detail" style={{ paddingInlineStart: `${depth}rem` }}>
                {detail}
              </span>
            )}
          </li>
        );
      })}
    </ol>
  );
}
