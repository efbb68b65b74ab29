/** Version of the package, as in `package.json`; a test compares them. */
export const hostVersion = "0.1.0";
