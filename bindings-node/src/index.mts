// The ES module entry of the package. The implementation is CommonJS only, so that a program that
// loads the package both ways gets one set of classes and one port.
export * from "./index.js";
