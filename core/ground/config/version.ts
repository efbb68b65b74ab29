/** Version of the package, as in `package.json`; a test compares them. */
export const hostVersion = "0.1.0";

/** A digest of the sources that the build puts here; a host that runs from its sources has none. */
declare const bulkheadBuild: string | undefined;

/** Version with the build, which tells two builds of a version apart: `0.1.0+4f0c9a7b21de` (semver.org, point 10). */
export const hostBuild: string = typeof bulkheadBuild === "string" ? `${hostVersion}+${bulkheadBuild}` : hostVersion;
