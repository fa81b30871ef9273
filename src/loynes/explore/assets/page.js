// The page by itself: its state is in the address, its server at the same one.

import { explore } from "./explorer.js";
import { HttpLink } from "./link.js";

explore(document, new HttpLink(), { address: true });
