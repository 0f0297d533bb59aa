import { train } from '../scoring/judge/train.ts';
import { serveThread } from './in-thread.ts';
import type { ModelJob } from './messages.ts';

/** The thread that trains one model. */

serveThread(({ dataset, options }: ModelJob, onProgress) => train(dataset, { ...options, onProgress }));
