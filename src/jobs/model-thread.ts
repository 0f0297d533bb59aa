import { parentPort, workerData } from 'node:worker_threads';
import { train } from '../scoring/judge/train.ts';
import type { FromModel, ModelJob } from './messages.ts';

/** The thread that trains one model. */

const { dataset, options } = workerData as ModelJob;
const send = (message: FromModel) => parentPort?.postMessage(message);
send({
	type: 'done',
	result: train(dataset, { ...options, onProgress: (progress) => send({ type: 'progress', progress }) }),
});
