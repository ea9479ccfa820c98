import { useInfiniteQuery } from "@tanstack/react-query";

/** One page of a list. */
export interface ListPage<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor?: string | null | undefined;
}

/** A list as far as it is loaded. */
export interface CursorList<Row> {
  readonly rows: readonly Row[];
  readonly isLoading: boolean;
  readonly error: Error | null;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  loadMore(): void;
  reload(): void;
}

/** What to load, and how often it is read again while only its first page is shown. */
export interface CursorListOptions<Row> {
  readonly key: readonly unknown[];
  load(cursor: string | undefined, signal: AbortSignal): Promise<ListPage<Row>>;
  readonly refreshMs?: number;
}

/** A list that is loaded page by page. */
export function useCursorList<Row>({ key, load, refreshMs }: CursorListOptions<Row>): CursorList<Row> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    refetchInterval: ({ state }) =>
      refreshMs !== undefined && (state.data?.pages.length ?? 0) < 2 ? refreshMs : false,
  });
  return {
    rows: query.data?.pages.flatMap(({ rows }) => rows) ?? [],
    isLoading: query.isPending,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    loadMore: () => void query.fetchNextPage(),
    reload: () => void query.refetch(),
  };
}
