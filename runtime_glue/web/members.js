// Written by tools/make_web.py from schedule.schema.json.

export default [
  "requires.limits.*",
  "inputs.*.shape.*",
  "outputs.*.shape.*",
  "textures.*.width",
  "textures.*.height",
  "textures.*.layers",
  "textures.*.channels",
  "textures.*.batch",
  "textures.*.stacked",
  "passes.*.reads.*.layer",
  "passes.*.reads.*.layers.*",
  "passes.*.uniforms.*.value.*",
  "passes.*.writes.*.layer",
  "passes.*.groups.*",
  "passes.*.viewport.*",
  "passes.*.macs",
  "passes.*.bytes.*",
  "passes.*.work.invocations"
];
