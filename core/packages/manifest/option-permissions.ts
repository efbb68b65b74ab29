import { formatArgumentPattern } from "../../../plugin-sdk/argument-pattern.ts";
import type { Manifest } from "../../../plugin-sdk/manifest.ts";
import type { Permissions } from "../../../plugin-sdk/permissions.ts";
import { readNet } from "../../ground/config/net-address.ts";
import { formatTarget, netTarget, readUrl } from "../../ground/config/net-target.ts";
import { isBinary, isName, optionNamed } from "../../ground/config/permission-problems.ts";
import { type ItemPlace, replaceItems } from "../../ground/config/replace-items.ts";
import { joinPermissions } from "./join-permissions.ts";

/** Values of a plugin's options. */
type Values = Readonly<Record<string, unknown>>;

/** The parts of a manifest that ask for permissions. */
type Asking = Pick<Manifest, "permissions" | "permissions_for">;

/**
 * Returns the permissions that a manifest asks for with these values of its options: its `permissions`, and those that
 * `permissions_for` adds for a value. Each is asked for once.
 */
export function chosenPermissions({ permissions = {}, permissions_for = {} }: Asking, values: Values): Permissions {
  const chosen = Object.entries(permissions_for).flatMap(([option, entries]) => {
    const value = Object.hasOwn(values, option) ? String(values[option]) : "";
    return Object.hasOwn(entries, value) ? [entries[value]!] : [];
  });
  const filled = [permissions, ...chosen].map((asked) => fillPermissions(asked, values));
  return filled.length === 1 ? filled[0]! : joinPermissions(filled);
}

/** Joins all that a manifest may ask for, with any value of its options. */
export function possiblePermissions({ permissions = {}, permissions_for = {} }: Asking): Permissions {
  return joinPermissions([permissions, ...Object.values(permissions_for).flatMap((entries) => Object.values(entries))]);
}

/**
 * Fills in the permissions that a manifest leaves to the operator: `{config.command}` stands for the value of that option,
 * as a program, an argument, a name or an address. Asks for nothing where the option is not set or its value cannot stand
 * there. Like every other permission it needs a grant.
 */
export function fillPermissions(permissions: Permissions, values: Values): Permissions {
  return replaceItems(permissions, (item, place) => {
    const option = optionNamed(item);
    if (option === null) return [item];
    return readers[place](Object.hasOwn(values, option) ? values[option] : undefined);
  });
}

/**
 * The same before the operator has chosen, as it can be shown: a program to be named keeps its option's name, with any
 * arguments, and is no program that a grant could name; other choices ask for nothing yet.
 */
export function unfilledPermissions(permissions: Permissions): Permissions {
  return replaceItems(permissions, (item, place) => {
    const isShown = optionNamed(item) === null || ["run.binary", "secrets.env", "secrets.hosts"].includes(place);
    if (isShown) return [item];
    return place === "run.args" ? ["{...}"] : [];
  });
}

/** How an option's value is read, by the place of the item that names it. */
const readers: Record<ItemPlace, (value: unknown) => string[]> = {
  "run.binary": binariesOf,
  "run.args": argumentsOf,
  "run.env": namesOf,
  net: netsOf,
  env: namesOf,
  "secrets.name": namesOf,
  "secrets.env": namesOf,
  "secrets.hosts": netsOf,
  mcp_servers: binariesOf,
};

function binariesOf(value: unknown): string[] {
  return textsOf(value).filter(isBinary);
}

function namesOf(value: unknown): string[] {
  return textsOf(value).filter(isName);
}

/** One pattern that allows exactly these arguments. */
function argumentsOf(value: unknown): string[] {
  return [formatArgumentPattern(textsOf(value).map((literal) => [{ literal }]))];
}

/** Turns URLs into `host:port`, and keeps `host:port` unchanged. */
function netsOf(value: unknown): string[] {
  return textsOf(value).map((text) => hostAndPort(text) ?? text).filter((text) => readNet(text) !== null);
}

function hostAndPort(text: string): string | null {
  const plain = text.replace(/^ws(s?):\/\//i, "http$1://");
  const url = /^https?:\/\//i.test(plain) ? readUrl(plain) : null;
  return url && formatTarget(netTarget(url));
}

function textsOf(value: unknown): string[] {
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((one): one is string => typeof one === "string" && one !== "");
}
