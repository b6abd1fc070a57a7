// The worker of test_picture_network.py: answers with what a network makes of a picture.

import { refusal, tiled } from "./picture_features.js";

onmessage = async ({ data }) => {
  let result;
  const error = await refusal(async () => (result = await tiled(...data)));
  postMessage(error ?? result);
};
