/** What `explain (format json)` says of a part of a plan; more than is read here. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Parent Relationship"?: string;
  readonly "Subplan Name"?: string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly Operation?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Returns how a plan finds and changes rows: a line for each CTE and one for the statement itself, without costs. */
export function shapeOf(explained: unknown): string[] {
  const [{ Plan }] = explained as [{ Plan: PlanNode }];
  const lines: string[] = [];
  read(Plan, "the statement", lines);
  return lines.filter((line) => !line.endsWith(": "));
}

function read(node: PlanNode, name: string, lines: string[]): void {
  const steps: string[] = [];
  const place = lines.push("") - 1;
  const visit = (part: PlanNode) => {
    const own = stepOf(part);
    for (const child of part.Plans ?? []) {
      const cte = /^CTE (.*)$/.exec(child["Subplan Name"] ?? "")?.[1];
      if (cte === undefined) visit(child);
      else read(child, cte, lines);
    }
    if (own !== null) steps.push(own);
  };
  visit(node);
  lines[place] = `${name}: ${steps.join(", ")}`;
}

function indexesBelow({ Plans = [] }: PlanNode): string[] {
  return Plans.flatMap((part) => [
    ...(part["Index Name"] === undefined ? [] : [part["Index Name"]]),
    ...indexesBelow(part),
  ]);
}

/** A step that reads or changes a table; null for joins, sorts and what reads CTEs and functions. */
function stepOf(node: PlanNode): string | null {
  const table = node["Relation Name"];
  const index = node["Index Name"];
  switch (node["Node Type"]) {
    case "Seq Scan":
      return `reads all ${table}`;
    case "Index Scan":
    case "Index Only Scan":
      return `${table} by ${index}`;
    case "Bitmap Heap Scan":
      return `${table} by ${indexesBelow(node).join(" and ")}`;
    case "ModifyTable":
      return `${node.Operation?.toLowerCase()}s ${table}`;
    case "LockRows":
      return "locks them";
    default:
      return null;
  }
}
