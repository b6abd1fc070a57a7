// Written by tools/make_web.py from schedule.schema.json.

import * as f from "./forms.js";

const name = f.text(1, 1024);
const identifier = f.text(0, 256, "^[A-Za-z_][A-Za-z0-9_]*$");
const path = f.text(0, 1024, "^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$");
const sha256 = f.text(0, undefined, "^[0-9a-f]{64}$");
const patterns = f.list(0, 1024, f.text(0, 256, "^[a-z0-9?* ]+$"));
const wgsl = f.oneOf("core", "f16");
const variant = f.members({
  name: name,
  schedule: path,
  renderers: patterns,
  others: patterns,}, {
  wgsl: wgsl,});
const offset = f.integer(0, 1099511627776);
const size = f.integer(1, 1099511627776);
const term = f.either(f.integer(-9007199254740991, 9007199254740991), f.text(0, 64));
const extent = f.either(f.integer(1, 16384), f.list(1, 4096, term));
const layers = f.either(f.integer(1, 2048), f.list(1, 4096, term));
const layer = f.either(f.integer(0, 2047), f.list(1, 4096, term));
const count = f.either(f.integer(1, 2147483647), f.list(1, 4096, term));
const estimate = f.either(f.integer(0, 1152921504606846976), f.list(1, 4096, term));
const tally = f.integer(0, 9007199254740991);
const unit = f.integer(0, 255);
const invocations = f.list(3, 3, f.integer(1, 2147483647));
const groups = f.list(3, 3, count);
const parameter = f.integer(1, 2147483647);
const expression = f.list(1, 4096, term);
const integer = f.integer(-9007199254740991, 9007199254740991);
const sizes = f.members({
  parameters: f.list(1, 16, f.members({
  name: f.text(0, 64, "^[a-z_][a-z0-9_]*$", ["min", "max"]),
  default: parameter,
  min: parameter,
  max: parameter,})),
  constraints: f.list(0, 1024, f.members({
  value: expression,
  min: integer,
  max: integer,
  why: name,})),});
const limit = f.either(f.integer(0, 1099511627776), f.list(1, 4096, term));
const requires = f.members({
  color_buffer: f.oneOf("float", "half_float", "none"),
  limits: f.members({
  texture_size: limit,
  array_texture_layers: limit,
  texture_units: limit,
  draw_buffers: limit,
  uniform_block_size: limit,
  uniform_blocks: limit,
  storage_block_size: limit,
  storage_blocks: limit,
  fragment_images: limit,
  compute_images: limit,
  compute_texture_units: limit,
  compute_uniform_blocks: limit,
  workgroup_invocations: limit,
  workgroup_count: limit,}),}, {
  glsl: f.oneOf(300, 310, 320),
  wgsl: wgsl,
  extensions: f.list(1, 16, f.oneOf("GL_OES_EGL_image_external_essl3"), true),});
const shape = f.list(0, 8, count);
const dtype = f.oneOf("float32", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool");
const axes = f.list(0, 8, f.integer(0, 7), true);
const input = f.members({
  name: name,
  texture: name,
  shape: shape,
  axes: axes,
  dtype: dtype,
  encoding: f.oneOf("float", "unorm8"),
  range: f.either(f.list(2, 2, f.number()), f.nothing),});
const axis = f.integer(0, 7);
const step = f.integer(1, 16384);
const distance = f.integer(0, 16384);
const reach = f.members({
  input_axis: axis,
  output_axis: axis,
  scale: f.list(2, 2, step),
  before: distance,
  after: distance,
  period: step,});
const receptive_field = f.members({
  input: name,}, {
  height: reach,
  width: reach,
  unbounded_by: name,});
const output = f.members({
  name: name,
  texture: name,
  shape: shape,
  axes: axes,
  dtype: dtype,
  encoding: f.oneOf("float", "unorm8", "y2rg", "y2rg_half"),}, {
  receptive_field: receptive_field,});
const texture = f.members({
  name: name,
  kind: f.oneOf("2d", "array", "external"),
  format: f.oneOf("r8", "rg8", "rgba8", "r16f", "rg16f", "rgba16f", "r32f", "rg32f", "rgba32f"),
  width: extent,
  height: extent,
  layers: layers,
  packing: f.oneOf("planes", "rows"),
  channels: count,
  batch: count,
  slot: f.either(f.integer(0, 65535), f.nothing),
  first: f.integer(0, 65536),
  last: f.integer(0, 65536),
  data: f.either(f.members({
  offset: offset,
  size: size,}), f.nothing),}, {
  stacked: count,});
const buffer = f.members({
  name: name,
  kind: f.oneOf("uniform", "storage"),
  offset: offset,
  size: size,});
const read = f.members({
  texture: name,}, {
  uniform: identifier,
  image: unit,
  matrix: identifier,
  layer: layer,
  layers: f.tuple(layer, layers),
  fetches: tally,}, f.single("uniform", "image"));
const write = f.members({
  texture: name,
  layer: layer,});
const block = f.members({
  block: identifier,
  buffer: name,}, {
  loads: tally,});
const int = f.either(f.integer(-2147483648, 2147483647), f.list(1, 4096, term));
const uniform = f.members({
  name: identifier,
  type: f.oneOf("int", "float", "ivec2", "vec4"),
  value: f.list(1, 4, f.either(f.number(), f.list(0))),}, {}, f.when("type", "int", f.some([], {
  value: f.list(1, 1, int),})), f.when("type", "ivec2", f.some([], {
  value: f.list(2, 2, int),})), f.when("type", "float", f.some([], {
  value: f.list(1, 1, f.number(-3.4028234663852886e+38, 3.4028234663852886e+38)),})), f.when("type", "vec4", f.some([], {
  value: f.list(4, 4, f.number(-3.4028234663852886e+38, 3.4028234663852886e+38)),})));
const pass = f.members({
  name: name,
  stage: f.oneOf("fragment", "compute"),
  kernel: name,
  shader: path,
  layers: f.list(0, 4096, f.text(0, 1024)),
  reads: f.list(0, 256, read),
  blocks: f.list(0, 256, block),
  uniforms: f.list(0, 256, uniform),
  writes: f.list(1, 2048, write),
  barriers: f.list(0, 3, f.oneOf("texture", "image", "framebuffer"), true),
  weights: f.oneOf("constants", "ubo", "texture", "ssbo", "none"),
  macs: estimate,
  bytes: f.members({
  read: estimate,
  written: estimate,}),}, {
  vertex: path,
  image: unit,
  workgroup: invocations,
  groups: groups,
  viewport: f.list(2, 2, extent),
  work: f.members({
  invocations: estimate,
  multiplies: tally,
  operations: tally,}, {
  precision: f.oneOf("highp", "mediump"),}),}, f.when("stage", "compute", f.some(["image", "workgroup", "groups"], {
  vertex: f.never,
  viewport: f.never,}), f.some(["vertex", "viewport"], {
  image: f.never,
  workgroup: f.never,
  groups: f.never,
  writes: f.list(0, 16),})));
export default f.members({
  format: f.oneOf("shadergen"),
  version: f.text(0, undefined, "^[0-9]{1,4}\\.[0-9]{1,4}$"),
  generator: name,
  model: name,
  requires: requires,
  inputs: f.list(0, 256, input),
  outputs: f.list(1, 256, output),
  textures: f.list(1, 65536, texture),
  buffers: f.list(0, 65536, buffer),
  weights: f.members({
  file: path,
  size: offset,
  sha256: sha256,}),
  passes: f.list(1, 65536, pass),}, {
  sha256: sha256,
  sizes: sizes,
  calibrated: f.list(1, 65536, name),
  variants: f.list(1, 64, variant),});
