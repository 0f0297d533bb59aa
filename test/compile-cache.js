import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Most of a test file's time is loading: every file is a process, and so are the servers that it starts.
const folder = join(tmpdir(), 'node-compile-cache');
process.env.NODE_COMPILE_CACHE ??= folder;
enableCompileCache(folder);
