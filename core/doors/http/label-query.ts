import { type TArray, type TOptional, type TString, Type } from "@sinclair/typebox";

/** Checks the labels of a query, each written as `name=value`. */
export const labelQuery: TOptional<TArray<TString>> = Type.Optional(
  Type.Array(Type.String({ pattern: "^[^=]{1,64}=", maxLength: 321 }), { maxItems: 16, description: "name=value" }),
);

/** The labels of a query by their names. */
export function labelsOf(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.map((text) => {
    const at = text.indexOf("=");
    return [text.slice(0, at), text.slice(at + 1)];
  }));
}
