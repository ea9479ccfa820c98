import { useSearchParams } from "wouter";

/** Filters of a screen, kept in its address; those that are empty are left out. */
export type Filters<Name extends string> = { readonly [Key in Name]?: string };

/** The filters of these names, and a function that changes some of them; an empty text takes one away. */
export function useFilters<Name extends string>(
  ...names: readonly Name[]
): [Filters<Name>, (change: { readonly [Key in Name]?: string }) => void] {
  const [search, setSearch] = useSearchParams();
  const filters: { [Key in Name]?: string } = {};
  for (const name of names) {
    const value = search.get(name);
    if (value) filters[name] = value;
  }
  const change = (changes: { readonly [Key in Name]?: string }) =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes))
          if (value) next.set(name, value as string);
          else next.delete(name);
        return next;
      },
      { replace: true },
    );
  return [filters, change];
}
