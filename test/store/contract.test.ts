import { controlContract } from './contract/control.ts';
import { crowdedMomentContract } from './contract/crowded-moments.ts';
import { deletionContract } from './contract/deletion.ts';
import { doorsContract } from './contract/doors.ts';
import { foldingContract } from './contract/folding.ts';
import { historiesContract } from './contract/histories-as-of.ts';
import { historyContract } from './contract/history.ts';
import { joinContract } from './contract/joins.ts';
import { maintenanceContract } from './contract/maintenance.ts';
import { orderContract } from './contract/order.ts';
import { peopleContract } from './contract/people.ts';
import { asOfContract } from './contract/profiles-as-of.ts';
import { quotaContract } from './contract/quota.ts';
import { receiptContract } from './contract/receipts.ts';
import { scoringContract } from './contract/scoring.ts';
import { subscriptionContract } from './contract/subscriptions.ts';
import { uploadContract } from './contract/uploads.ts';
import { visitorMaintenanceContract } from './contract/visitor-maintenance.ts';
import { visitorContract } from './contract/visitors.ts';
import { engines } from './engines.ts';

/** One contract, run over every engine. */
for (const engine of engines) {
	doorsContract(engine);
	uploadContract(engine);
	receiptContract(engine);
	visitorContract(engine);
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
	asOfContract(engine);
	maintenanceContract(engine);
}
