import { parentPort } from 'node:worker_threads';
import { train } from '../scoring/judge/train.ts';
import type { FromModel, ModelJob } from './messages.ts';

/** The thread that trains one model. */

const send = (message: FromModel) => parentPort?.postMessage(message);
parentPort?.on('message', ({ dataset, options }: ModelJob) =>
	send({
		type: 'done',
		result: train(dataset, { ...options, onProgress: (progress) => send({ type: 'progress', progress }) }),
	}),
);
