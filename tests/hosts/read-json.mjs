// Prints a file as hosts read it that take JSON without comments.

import { readFileSync } from "node:fs";

const [file] = process.argv.slice(2);
console.log(JSON.stringify(JSON.parse(readFileSync(file, "utf8"))));
