import { serveThread } from '../../../kit/jobs/in-thread.ts';
import { train } from '../judge/train.ts';
import type { ModelJob } from './training-jobs.ts';

/** The thread that trains one model. */

serveThread(({ dataset, options }: ModelJob, onProgress) => train(dataset, { ...options, onProgress }));
