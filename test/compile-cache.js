import { enableCompileCache } from 'node:module';

// Most of a test file's time is loading: every file is a process, and loads the service anew.
enableCompileCache();
