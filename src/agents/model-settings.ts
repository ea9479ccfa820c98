import { Type } from "@sinclair/typebox";
import { Component, example } from "../kernel/http/component.ts";
import { Characters, Nullable } from "../kernel/http/request-fields.ts";
import type { ModelSettings } from "../providers/model-settings.ts";

/** The highest temperature that any vendor takes. */
export const temperatureMax = 2;
/** An answer may be given at most this many tokens. */
export const outputTokensMax = 1_000_000;
/** An answer ends at one of at most this many texts; vendors take fewer. */
export const stopSequencesMax = 16;
/** Such a text has at most this many characters. */
export const stopSequenceCharactersMax = 256;
/** A seed lies between its negative and this. */
export const seedMax = 2_147_483_647;

/** Each setting by its bounds. */
export const settingFields = {
  temperature: example(Type.Number({ minimum: 0, maximum: temperatureMax }), 0.2),
  topP: example(Type.Number({ minimum: 0, maximum: 1 }), 0.9),
  maxOutputTokens: example(Type.Integer({ minimum: 1, maximum: outputTokensMax }), 4_000),
  stopSequences: example(
    Type.Array(Characters({ min: 1, max: stopSequenceCharactersMax }), { maxItems: stopSequencesMax }),
    ["END"],
  ),
  seed: example(Type.Integer({ minimum: -seedMax, maximum: seedMax }), 7),
};

/** What a request sets; null is absent. */
export const ModelSettingsUpdate = Component("ModelSettingsUpdate", {
  temperature: Type.Optional(Nullable(settingFields.temperature)),
  topP: Type.Optional(Nullable(settingFields.topP)),
  maxOutputTokens: Type.Optional(Nullable(settingFields.maxOutputTokens)),
  stopSequences: Type.Optional(Nullable(settingFields.stopSequences)),
  seed: Type.Optional(Nullable(settingFields.seed)),
});

export const ModelSettingsShown = Component("ModelSettings", {
  temperature: Type.Optional(settingFields.temperature),
  topP: Type.Optional(settingFields.topP),
  maxOutputTokens: Type.Optional(settingFields.maxOutputTokens),
  stopSequences: Type.Optional(settingFields.stopSequences),
  seed: Type.Optional(settingFields.seed),
});

/** Returns settings without those that are null, or an empty list. */
export function presentSettings(
  settings: { readonly [S in keyof ModelSettings]: ModelSettings[S] | null } | null,
): ModelSettings {
  const present = Object.entries(settings ?? {}).filter(
    ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(present);
}
