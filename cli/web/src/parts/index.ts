// The parts that pages are made of.
export * from "./controls";
export * from "./json-field";
export * from "./list";
export * from "./menu";
export * from "./search";
export * from "./segments";
export * from "./split";
export * from "./text";
