import { parentPort, workerData } from 'node:worker_threads';
import { paymentProviders } from '../domain/touch.ts';
import { OperatorError, reasonOf } from '../errors.ts';
import { openStore } from '../store/open.ts';
import type { ReportJob, ReportMessage } from './report-job.ts';
import { runReport } from './run-report.ts';

/** The thread that makes one report. It opens the databases itself, so that it reads beside the serving process. */

if (!parentPort) throw new Error('this file is the report thread');
const { place, account, query } = workerData as ReportJob;

async function make(): Promise<ReportMessage> {
	const store = await openStore(place.database, { stage: place.stage, mustExist: true });
	try {
		return { type: 'done', json: JSON.stringify(await runReport(store, account, query, paymentProviders)) };
	} catch (error) {
		return { type: error instanceof OperatorError ? 'refused' : 'failed', reason: reasonOf(error) };
	} finally {
		await store.close();
	}
}

parentPort.postMessage(await make());
