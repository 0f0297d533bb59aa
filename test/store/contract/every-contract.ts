import type { Engine } from '../engines.ts';
import { controlContract } from './control.ts';
import { crowdedMomentContract } from './crowded-moments.ts';
import { deletionContract } from './deletion.ts';
import { doorsContract } from './doors.ts';
import { experimentsContract } from './experiments.ts';
import { foldingContract } from './folding.ts';
import { historiesContract } from './histories-as-of.ts';
import { historyContract } from './history.ts';
import { joinContract } from './joins.ts';
import { maintenanceContract } from './maintenance.ts';
import { notesAndViewsContract } from './notes-views.ts';
import { orderContract } from './order.ts';
import { peopleContract } from './people.ts';
import { asOfContract } from './profiles-as-of.ts';
import { quotaContract } from './quota.ts';
import { receiptContract } from './receipts.ts';
import { scoringContract } from './scoring.ts';
import { seedContract } from './seeds.ts';
import { subscriptionContract } from './subscriptions.ts';
import { uploadContract } from './uploads.ts';
import { visitorMaintenanceContract } from './visitor-maintenance.ts';
import { visitorContract } from './visitors.ts';

/** One contract, to be run over every engine. */
export function everyContract(engine: Engine): void {
	doorsContract(engine);
	uploadContract(engine);
	receiptContract(engine);
	visitorContract(engine);
	seedContract(engine);
	joinContract(engine);
	visitorMaintenanceContract(engine);
	subscriptionContract(engine);
	foldingContract(engine);
	historyContract(engine);
	crowdedMomentContract(engine);
	historiesContract(engine);
	quotaContract(engine);
	controlContract(engine);
	peopleContract(engine);
	deletionContract(engine);
	orderContract(engine);
	scoringContract(engine);
	experimentsContract(engine);
	notesAndViewsContract(engine);
	asOfContract(engine);
	maintenanceContract(engine);
}
