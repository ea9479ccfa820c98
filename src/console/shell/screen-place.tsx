import { type ComponentType, useEffect, useState } from "react";
import { Loading } from "../parts/states.tsx";
import { operatorScreens, type Screen, tenantScreens } from "../screens.ts";

const loaded = new Map<Screen, ComponentType>();

/** Loads a screen's code, once. */
export async function loadScreen(screen: Screen): Promise<ComponentType> {
  const { default: component } = await (screen.load as NonNullable<Screen["load"]>)();
  loaded.set(screen, component);
  return component;
}

/** Begins to load the screen at an address, before it is known who is signed in. */
export function loadScreenAt(pathname: string): void {
  const present = `/${pathname.split("/")[2] ?? ""}`;
  const screens = [...tenantScreens, ...operatorScreens].flatMap((group) => group.screens);
  const screen = screens.find(({ path, load }) => path === present && load !== null);
  if (screen !== undefined) void loadScreen(screen).catch(() => {});
}

/**
 * A screen, whose code is loaded when it is first shown. Not by `lazy`: React keeps what stands
 * in for such a part for 300 ms, and the code is there after some 30.
 */
export function ScreenPlace({ screen }: { readonly screen: Screen }) {
  const [, render] = useState(0);
  const [failure, setFailure] = useState<unknown>(null);
  const Component = loaded.get(screen);
  const isMissing = Component === undefined;
  useEffect(() => {
    if (isMissing) loadScreen(screen).then(() => render((count) => count + 1), setFailure);
  }, [screen, isMissing]);
  if (failure !== null) throw failure;
  return Component === undefined ? <Loading /> : <Component />;
}
