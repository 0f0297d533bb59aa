import { assemble } from '../../kit/assembled.ts';

assemble({ computeThread: new URL('./compute-thread.ts', import.meta.url) });
