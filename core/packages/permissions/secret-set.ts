import { omitEmpty } from "../../../plugin-sdk/optional-fields.ts";
import type { SecretPermission } from "../../../plugin-sdk/permissions.ts";
import { meetNet } from "./net-set.ts";

/** Secrets that both sets allow. A name alone among the given ones stands for all that is asked for under that name. */
export function meetSecrets(
  asked: readonly SecretPermission[],
  given: readonly SecretPermission[],
): SecretPermission[] {
  return asked.flatMap((ask) =>
    given.filter(({ name }) => name === ask.name).map((give): SecretPermission => ({
      name: ask.name,
      env: isBare(give) ? ask.env ?? [] : (ask.env ?? []).filter((name) => give.env?.includes(name)),
      hosts: isBare(give) ? ask.hosts ?? [] : meetHosts(ask.hosts ?? [], give.hosts ?? []),
    }))
  );
}

/** Secrets left when some are denied. A name alone is denied whole; hosts that overlap with a denied one go. */
export function withoutSecrets(
  held: readonly SecretPermission[],
  denied: readonly SecretPermission[],
): SecretPermission[] {
  return held.map((one) =>
    denied.filter(({ name }) => name === one.name).reduce<SecretPermission>((left, deny) => ({
      name: left.name,
      env: isBare(deny) ? [] : (left.env ?? []).filter((name) => !deny.env?.includes(name)),
      hosts: isBare(deny)
        ? []
        : (left.hosts ?? []).filter((host) => !deny.hosts?.some((other) => meetNet(host, other) !== null)),
    }), one)
  );
}

/** One form for the same set: one entry a name, in order, without hosts that another one covers. */
export function widestSecrets(secrets: readonly SecretPermission[]): SecretPermission[] {
  const names = [...new Set(secrets.map(({ name }) => name))].sort();
  return names.flatMap((name) => {
    const same = secrets.filter((one) => one.name === name);
    const env = [...new Set(same.flatMap((one) => one.env ?? []))].sort();
    const all = [...new Set(same.flatMap((one) => one.hosts ?? []))].sort();
    const hosts = all.filter((host) => !all.some((other) => other !== host && meetNet(host, other) === host));
    if (env.length === 0 && hosts.length === 0) return [];
    return [{ name, ...omitEmpty({ env, hosts }) }];
  });
}

function isBare({ env, hosts }: SecretPermission): boolean {
  return env === undefined && hosts === undefined;
}

function meetHosts(left: readonly string[], right: readonly string[]): string[] {
  return left.flatMap((a) => right.map((b) => meetNet(a, b))).filter((host) => host !== null);
}
