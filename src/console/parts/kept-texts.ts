import { useState } from "react";
import { useConsoleSession } from "../api/session.ts";

/** Texts of a kind that this browser keeps of something, those of each tenant apart, and a function that replaces them. */
export function useKeptTexts(kind: string, of: string): [readonly string[], (next: readonly string[]) => void] {
  const principal = useConsoleSession().data?.principal;
  const place = `parley.${kind}.${principal?.kind === "tenant" ? principal.tenantId : ""}.${of}`;
  const [, render] = useState(0);
  function keep(next: readonly string[]): void {
    localStorage.setItem(place, JSON.stringify(next));
    render((count) => count + 1);
  }
  return [readKept(place), keep];
}

function readKept(place: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(place) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}
