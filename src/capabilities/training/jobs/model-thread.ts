import { serveThread } from '../../../kit/jobs/in-thread.ts';
import type { ModelJob } from '../../../kit/jobs/messages.ts';
import { train } from '../judge/train.ts';

/** The thread that trains one model. */

serveThread(({ dataset, options }: ModelJob, onProgress) => train(dataset, { ...options, onProgress }));
