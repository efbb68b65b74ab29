/** The same fields, those that may be undefined as optional ones. */
type Defined<T> =
  & { [K in keyof T as undefined extends T[K] ? never : K]: T[K] }
  & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** The same fields, all optional. */
type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/**
 * Leaves out the fields that are undefined: in what authors, clients and files see, an optional field is absent, never
 * undefined.
 */
export function omitUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Leaves out the fields that are undefined, false, or an empty text, list or object. */
export function omitEmpty<T extends object>(fields: T): Present<T> {
  const isEmpty = (value: unknown): boolean =>
    value === undefined || value === false || value === "" ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value))) as Present<T>;
}
