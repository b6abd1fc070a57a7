"""Compile shaders with the Vulkan driver that the loader finds. See :mod:`gpus.worker`.

glslang makes SPIR-V of the GLSL ES, or naga of WGSL (:mod:`gpus.naga`). SPIRV-Cross names its
descriptors, and the driver tells its statistics by VK_KHR_pipeline_executable_properties. RADV does
not say how many loops there are, but prints its program, in which they are counted, and its
vector instructions.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import vulkan as vk

from gpus.naga import Naga
from gpus.worker import Clock, Refused, serve
from shadergen.backends.validate import find_glslang

# Vulkan has no GLSL ES 3.0; relaxed rules (-R) put loose uniforms into a block.
GLSLANG = ("-V", "-R", "--auto-map-locations", "--auto-map-bindings")
VERSION = re.compile(r"#version 3\d0 es")
STATISTICS = "VK_KHR_pipeline_executable_properties"
DESCRIPTORS = {
    "textures": vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
    "separate_images": vk.VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
    "separate_samplers": vk.VK_DESCRIPTOR_TYPE_SAMPLER,
    "images": vk.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE,
    "ubos": vk.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
    "ssbos": vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
}
FORMATS = {
    "rgba32f": vk.VK_FORMAT_R32G32B32A32_SFLOAT,
    "rgba16f": vk.VK_FORMAT_R16G16B16A16_SFLOAT,
    "rgba8": vk.VK_FORMAT_R8G8B8A8_UNORM,
    "rg32f": vk.VK_FORMAT_R32G32_SFLOAT,
    "rg16f": vk.VK_FORMAT_R16G16_SFLOAT,
    "rg8": vk.VK_FORMAT_R8G8_UNORM,
    "r32f": vk.VK_FORMAT_R32_SFLOAT,
    "r16f": vk.VK_FORMAT_R16_SFLOAT,
    "r8": vk.VK_FORMAT_R8_UNORM,
}
FLOAT64 = vk.VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR
NUMBERS = vk.VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
TEXTS = vk.VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR
PROGRAMS = "vkGetPipelineExecutableInternalRepresentationsKHR"
STAGES = {
    "compute": [vk.VK_SHADER_STAGE_COMPUTE_BIT],
    "fragment": [vk.VK_SHADER_STAGE_VERTEX_BIT, vk.VK_SHADER_STAGE_FRAGMENT_BIT],
}
IRIS = {  # ANV's names of what iris tells, too
    "Instruction Count": "inst",
    "Loop Count": "loops",
    "Spill Count": "spills",
    "Fill Count": "fills",
}
LOOP = re.compile(rb"loop-header")  # the kind of a loop's first block, printed before assembly
VECTOR = re.compile(rb"^\t(?:(?:v|image|buffer|ds)_|exp )", re.MULTILINE)  # of AMD's assembly
Shader = Mapping[str, Any]


class VulkanDriver:
    """The first device of the driver."""

    def __init__(self) -> None:
        self._naga: Naga | None = None
        application = vk.VkApplicationInfo(apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        about = vk.VkInstanceCreateInfo(pApplicationInfo=application)
        self._instance = vk.vkCreateInstance(about, None)
        device = vk.vkEnumeratePhysicalDevices(self._instance)[0]
        number = vk.vkGetPhysicalDeviceProperties(device).driverVersion
        parts = (vk.VK_VERSION_MAJOR, vk.VK_VERSION_MINOR, vk.VK_VERSION_PATCH)
        self.version = "Mesa " + ".".join(str(part(number)) for part in parts)
        queue = vk.VkDeviceQueueCreateInfo(queueCount=1, pQueuePriorities=[1.0])
        rendering = vk.VkPhysicalDeviceVulkan13Features(dynamicRendering=True)
        half = vk.VkPhysicalDeviceVulkan12Features(
            pNext=rendering, shaderFloat16=True, uniformBufferStandardLayout=True
        )
        told = vk.VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR(
            pNext=half, pipelineExecutableInfo=True
        )
        wanted = vk.VkDeviceCreateInfo(
            pNext=told,
            queueCreateInfoCount=1,
            pQueueCreateInfos=[queue],
            enabledExtensionCount=1,
            ppEnabledExtensionNames=[STATISTICS],
            pEnabledFeatures=vk.vkGetPhysicalDeviceFeatures(device),
        )
        self._device = vk.vkCreateDevice(device, wanted, None)
        names = ("vkGetPipelineExecutablePropertiesKHR", "vkGetPipelineExecutableStatisticsKHR")
        self._executables, self._statistics = (
            vk.vkGetDeviceProcAddr(self._device, name) for name in names
        )
        # the binding's wrapper leaves no room for the texts
        address = vk.lib.vkGetDeviceProcAddr(self._device, PROGRAMS.encode())
        self._programs = vk.ffi.cast(f"PFN_{PROGRAMS}", address)

    def compile(self, shader: Shader, clock: Clock) -> list[str]:
        """Compile a shader; return its statistics as messages."""
        if "wgsl" in shader:
            self._naga = self._naga or Naga()
            codes = self._naga.spirv(shader)
        else:
            codes = _with_glslang(shader)
        stages = [
            self._stage(code, flag)
            for code, flag in zip(codes, STAGES[shader["stage"]], strict=True)
        ]
        descriptors = _descriptors(codes[-1])
        layout = self._layout(descriptors)
        try:
            with clock:
                pipeline = self._pipeline(shader, stages, layout, NUMBERS)
            looped = None
            if "for (" in shader["source"]:
                looped = self._pipeline(shader, stages, layout, TEXTS)
        except vk.VkError as error:
            raise Refused(f"no pipeline: {error}") from error
        said = self._said(pipeline, looped)
        for made in filter(None, (pipeline, looped)):
            vk.vkDestroyPipeline(self._device, made, None)
        return said

    def _stage(self, code: bytes, flag: int) -> Any:
        module = vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code)
        return vk.VkPipelineShaderStageCreateInfo(
            stage=flag, module=vk.vkCreateShaderModule(self._device, module, None), pName="main"
        )

    def _layout(self, descriptors: Mapping[int, int]) -> Any:
        bindings = [
            vk.VkDescriptorSetLayoutBinding(
                binding=binding,
                descriptorType=kind,
                descriptorCount=1,
                stageFlags=vk.VK_SHADER_STAGE_ALL,
            )
            for binding, kind in descriptors.items()
        ]
        sets = vk.VkDescriptorSetLayoutCreateInfo(
            bindingCount=len(bindings), pBindings=bindings or None
        )
        chosen = [vk.vkCreateDescriptorSetLayout(self._device, sets, None)]
        layout = vk.VkPipelineLayoutCreateInfo(setLayoutCount=1, pSetLayouts=chosen)
        return vk.vkCreatePipelineLayout(self._device, layout, None)

    def _pipeline(self, shader: Shader, stages: list[Any], layout: Any, capture: int) -> Any:
        if shader["stage"] == "compute":
            wanted = vk.VkComputePipelineCreateInfo(flags=capture, stage=stages[0], layout=layout)
            return vk.vkCreateComputePipelines(self._device, None, 1, [wanted], None)[0]
        formats = [FORMATS[format] for format in shader["targets"]]
        write = vk.VkPipelineColorBlendAttachmentState(colorWriteMask=15)
        area = {"viewportCount": 1, "scissorCount": 1}
        dynamic = [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR]
        wanted = vk.VkGraphicsPipelineCreateInfo(
            pNext=vk.VkPipelineRenderingCreateInfo(
                colorAttachmentCount=len(formats), pColorAttachmentFormats=formats
            ),
            flags=capture,
            stageCount=len(stages),
            pStages=stages,
            pVertexInputState=vk.VkPipelineVertexInputStateCreateInfo(),
            pInputAssemblyState=vk.VkPipelineInputAssemblyStateCreateInfo(
                topology=vk.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
            ),
            pViewportState=vk.VkPipelineViewportStateCreateInfo(**area),
            pRasterizationState=vk.VkPipelineRasterizationStateCreateInfo(lineWidth=1.0),
            pMultisampleState=vk.VkPipelineMultisampleStateCreateInfo(
                rasterizationSamples=vk.VK_SAMPLE_COUNT_1_BIT
            ),
            pColorBlendState=vk.VkPipelineColorBlendStateCreateInfo(
                attachmentCount=len(formats), pAttachments=[write] * len(formats)
            ),
            pDynamicState=vk.VkPipelineDynamicStateCreateInfo(
                dynamicStateCount=len(dynamic), pDynamicStates=dynamic
            ),
            layout=layout,
        )
        return vk.vkCreateGraphicsPipelines(self._device, None, 1, [wanted], None)[0]

    def _said(self, pipeline: Any, looped: Any) -> list[str]:
        said = []
        about = vk.VkPipelineInfoKHR(pipeline=pipeline)
        for index, executable in enumerate(self._executables(self._device, about)):
            values = [f"lanes={executable.subgroupSize}"]
            which = vk.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=index)
            for statistic in self._statistics(self._device, which):
                value = statistic.value
                number = value.f64 if statistic.format == FLOAT64 else value.u64
                name = _text(statistic.name)
                values.append(f"{IRIS.get(name, name)}={number}")
            if not any(value.startswith("loops=") for value in values):
                loops, vector = self._counted(looped, index) if looped else (0, 0)
                values += [f"loops={loops}", f"vector={vector}"]
            said.append(f"{_text(executable.name)}: {'; '.join(values)}")
        return said

    def _counted(self, pipeline: Any, index: int) -> tuple[int, int]:
        """Return how many loops and vector instructions an executable's machine code has."""
        ffi = vk.ffi
        which = vk.VkPipelineExecutableInfoKHR(pipeline=pipeline, executableIndex=index)
        count = ffi.new("uint32_t *")
        place = self._device, ffi.addressof(which), count
        self._programs(*place, ffi.NULL)
        texts = ffi.new("VkPipelineExecutableInternalRepresentationKHR[]", count[0])
        self._programs(*place, texts)
        rooms = [ffi.new("char[]", text.dataSize) for text in texts]
        for text, room in zip(texts, rooms, strict=True):
            text.pData = room
        self._programs(*place, texts)
        printed = b"".join(bytes(ffi.buffer(room)) for room in rooms)
        return len(LOOP.findall(printed)), len(VECTOR.findall(printed))


def _text(characters: Any) -> str:
    return characters if isinstance(characters, str) else vk.ffi.string(characters).decode()


def _with_glslang(shader: Shader) -> list[bytes]:
    """Return the SPIR-V of each stage of a shader in GLSL ES."""
    texts = {"vert": shader.get("vertex"), "frag": shader["source"]}
    if shader["stage"] == "compute":
        texts = {"comp": shader["source"]}
    codes = []
    with tempfile.TemporaryDirectory() as scratch:
        for kind, source in texts.items():
            text, binary = Path(scratch) / f"shader.{kind}", Path(scratch) / f"{kind}.spv"
            source = VERSION.sub("#version 320 es", source, count=1)
            text.write_text(source.replace("gl_VertexID", "gl_VertexIndex"), "utf-8")
            command = [find_glslang() or "glslang", *GLSLANG, "-o", str(binary), str(text)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                raise Refused("glslang: " + " ".join(run.stdout.split())[:500])
            codes.append(binary.read_bytes())
    return codes


def _descriptors(code: bytes) -> dict[int, int]:
    """Return the types of the descriptors of SPIR-V, by binding."""
    with tempfile.NamedTemporaryFile(suffix=".spv") as binary:
        binary.write(code)
        binary.flush()
        command = ["spirv-cross", binary.name, "--reflect"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    return {r["binding"]: t for k, t in DESCRIPTORS.items() for r in found.get(k, ())}


if __name__ == "__main__":
    serve(VulkanDriver)
