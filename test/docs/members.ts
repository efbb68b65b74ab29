import { type Node, parse, readSource } from "../structure/source.ts";

/** One member of an interface, as its source says. */
export interface Member {
  name: string;
  /** The type, or for a method its parameters and what it returns, on one line. */
  type: string;
  optional: boolean;
  /** Text of the doc comment, on one line, without its `@throws`. */
  says: string;
  /** Codes of the errors it throws. */
  throws: string[];
  /** Members of an inline object type; empty for any other. */
  members: Member[];
}

/** One exported interface of a file. */
export interface Interface {
  says: string;
  members: Member[];
}

/** The exported interfaces of a file, by name. */
export function interfacesOf(path: string): ReadonlyMap<string, Interface> {
  const text = readSource(path);
  const found = new Map<string, Interface>();
  for (const statement of (parse(path, text)["body"] as Node[])) {
    const declaration = statement["declaration"] as Node | null | undefined;
    if (statement.type !== "ExportNamedDeclaration" || declaration?.type !== "TSInterfaceDeclaration") continue;
    const { name } = declaration["id"] as { name: string };
    const body = (declaration["body"] as { body: Node[] }).body;
    found.set(name, {
      says: comment(text, statement).says,
      members: body.filter(isNamed).map((node) => memberOf(text, node)),
    });
  }
  return found;
}

function memberOf(text: string, node: Node): Member {
  const key = node["key"] as { name?: string; value?: string } & Node;
  const type = (node["typeAnnotation"] as { typeAnnotation: Node } | null)?.typeAnnotation;
  const inline = type?.type === "TSTypeLiteral" ? (type["members"] as Node[]).filter(isNamed) : [];
  return {
    name: key.name ?? String(key.value),
    type: oneLine(node.type === "TSMethodSignature" ? text.slice(key.end, node.end) : slice(text, type)),
    optional: node["optional"] === true,
    ...comment(text, node),
    members: inline.map((one) => memberOf(text, one)),
  };
}

/** An index signature has no name to list it by. */
function isNamed({ type }: Node): boolean {
  return type !== "TSIndexSignature";
}

function slice(text: string, node: Node | undefined): string {
  return node === undefined ? "" : text.slice(node.start, node.end);
}

function comment(text: string, node: Node): Pick<Member, "says" | "throws"> {
  const [, body = ""] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, node.start)) ?? [];
  const lines = oneLine(body.replace(/^\s*\*( |$)/gm, " "));
  const [says = "", ...tags] = lines.split(/\s(?=@\w)/);
  const thrown = tags.filter((tag) => tag.startsWith("@throws")).join(" ");
  return {
    says: says.replaceAll(/\{@link (?:\w+\.)?(\w+)\}/g, "`$1`"),
    throws: [...thrown.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, code = ""]) => code),
  };
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replace(/;$/, "").trim();
}
