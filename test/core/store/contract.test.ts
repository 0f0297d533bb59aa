import { everyContract } from './contract/every-contract.ts';
import { engines } from './engines.ts';

for (const engine of engines) everyContract(engine);
