// The ES module face of the package. There is one implementation, compiled to CommonJS, so that a program that loads the package both ways
// still has one set of classes and one port.
export * from "./index.js";
