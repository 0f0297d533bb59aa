/**
 * Of Node's `http`, what is needed at run time. An `import` of it copies everything it exports, and so loads `fetch`,
 * which the server does not use: 45 ms of each process.
 */
export const { Agent, createServer, METHODS, request, STATUS_CODES } = process.getBuiltinModule('node:http');
