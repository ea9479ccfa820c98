/** Returns a query's fields, null for one whose encoding is broken. `URLSearchParams` alone would read bytes that are no UTF-8 as replacement characters. */
export function queryFields(url: string): Iterable<[string, string | null]> {
  const { search, searchParams } = new URL(url);
  return search.includes("%") ? decodedFields(search) : searchParams;
}

function* decodedFields(search: string): Generator<[string, string | null]> {
  for (const part of search.slice(1).split("&"))
    for (const [name, value] of new URLSearchParams(`?${part}`)) yield [name, isDecodable(part) ? value : null];
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
