"""Names that GPUs' drivers, ANGLE and browsers give as GL_RENDERER or UNMASKED_RENDERER_WEBGL.

Each string was found in public data; nothing was made up, except where a comment says "from the
source": then the code that makes the name was read, and no log with it was found. Sources:

creepjs: github.com/abrahamjuliot/creepjs, docs/data/samples.json at e3180674a78f (visitors).
apify:   github.com/apify/fingerprint-suite, packages/fingerprint-generator/src/data_files/
         fingerprint-network-definition.zip at f26dddb20b41 (visitors).
gecko:   github.com/mozilla/gecko-dev, dom/canvas/gtest/TestSanitizeRenderer.cpp and
         dom/canvas/SanitizeRenderer.cpp at c6a192913c61.
mesa:    Mesa's own tables of names, as stored under the names of its mirrors.
angle:   github.com/google/angle at 80760643c85e: Context::initRendererString writes
         "ANGLE (vendor, renderer, version)" and drops commas inside of the parts; Direct3D11 and
         Vulkan write the PCI device as "(0x00007340)", which tells names apart that are alike.
log:     logs and bug reports in public repositories.

creepjs drops slashes and, of browsers without ANGLE, keeps the bare name.
"""

STRINGS: dict[str, list[str]] = {
    "mali-bifrost": [
        # apify, Chrome and others on Android, which give Arm's GL_RENDERER as it is
        "Mali-G51",
        "Mali-G52 MC2",
        "Mali-G71",
        "Mali-G72 MP3",
        "Mali-G76 MC4",
        # creepjs
        "Mali-G31 MC2",
        "ANGLE (ARM, Mali-G72 MP18, OpenGl ES 3.2)",
        # apify, ANGLE on Arm's GL
        "ANGLE (ARM, Mali-G52 MC2, OpenGL ES 3.2)",
        # log: ANGLE on Arm's Vulkan
        "ANGLE (ARM, Vulkan 1.3.213 (Mali-G52 (0x72120000)), Mali-G52-38.1.0)",
        # log(ChromeOS, a unit test of real strings): a virtual machine
        "ANGLE (ARM, Vulkan 1.1.255 (VirtIO GPU Venus (Mali-G72) (0x62210030)), Venus 40.0.0)",
        # glmark2 with Mesa 25.2, log; and Chromium on it
        "Mali-G52 r1 (Panfrost)",
        "ANGLE (Mesa, Mali-G52 r1 (Panfrost), OpenGL ES 3.1)",
        # mesa, from the source: pan_screen of Mesa 20 (log), with a space
        "Mali G31 (Panfrost)",
    ],
    "mali-valhall": [
        # apify
        "Mali-G57 MC2",
        "Mali-G68 MC4",
        "Mali-G77 MC9",
        "Mali-G78",
        "Mali-G610 MC6",
        "Mali-G615 MC2",
        "Mali-G715-Immortalis MC11",
        "Mali-G720-Immortalis MC12",
        "ANGLE (ARM, Mali-G57 MC2, OpenGL ES 3.2)",
        # creepjs
        "Mali-G925-Immortalis MC12",
        "ANGLE (ARM, Mali-G710 MC10, OpenGL ES 3.2)",
        "ANGLE (ARM, Vulkan 1.3.283 (Mali-G715 (0xB8A20000)), Mali-G715)",
        # X11Libre/xserver issue 396, glxgears with Mesa 25.0.7
        "Mali-G610 (Panfrost)",
        # mesa, from the source: bminor/mesa-mesa, src/panfrost/model/pan_model.c
        "Mali-G310v2 (Panfrost)",
        # logGL of a Dimensity 9500 (Arm's fifth generation, 2025)
        "Mali-G1-Ultra MC12",
    ],
    "adreno-6xx": [
        # apify
        "Adreno (TM) 610",
        "Adreno (TM) 642L",
        "Adreno (TM) 660",
        "ANGLE (Qualcomm, Adreno (TM) 660, OpenGL ES 3.2)",
        "ANGLE (freedreno, FD618, OpenGL ES 3.2)",  # a Chromebook
        "ANGLE (Qualcomm, Qualcomm(R) Adreno(TM) 8cx Gen 3 (0x36333630) Direct3D11 vs_5_0 ps_5_0, "
        "D3D11)",
        # creepjs
        "Adreno(TM)640",
        # log: Windows on a Snapdragon 845
        "ANGLE (Unknown, Qualcomm(R) Adreno(TM) 630 GPU Direct3D11 vs_5_0 ps_5_0, "
        "D3D11-25.18.10500.0)",
        # log: Plasma Mobile's and Android's compositors
        "FD640",
        "Adreno 7c+ Gen 3",
        # lfdevs/mesa-for-android-container issue 83, glxgears
        "zink Vulkan 1.3(Turnip Adreno (TM) 619 (MESA_TURNIP))",
        # Adreno 702 is of the 6xx ("NOT a mistake!", Mesa's freedreno_devices.py): log
        # 60871160140, eglinfo of an Arduino UNO Q, its GL and its Vulkan
        "FD702",
        "Turnip Adreno (TM) 702",
    ],
    "adreno-7xx": [
        # apify
        "Adreno (TM) 710",
        "Adreno (TM) 720",
        "Adreno (TM) 730",
        "Adreno (TM) 735",
        "Adreno (TM) 740",
        "ANGLE (Qualcomm, Adreno (TM) 750, OpenGL ES 3.2)",
        "ANGLE (Qualcomm, Qualcomm(R) Adreno(TM) X1-85 GPU (0x36334330) Direct3D11 vs_5_0 ps_5_0, "
        "D3D11)",
        # creepjs
        "ANGLE (Qualcomm, Adreno (TM) 725, OpenGL ES 3.2)",
        # log: Obsidian on Linux, ANGLE on turnip
        "ANGLE (Qualcomm, Vulkan 1.4.354 (Turnip Adreno (TM) 730 (0x07030001)), turnip Mesa "
        "driver)",
        # termux/termux-packages issue 26526 and xDoge26/proot-setup issue 26
        "zink Vulkan 1.4(Turnip Adreno (TM) 710 (MESA_TURNIP))",
        "zink Vulkan 1.3(Turnip Adreno (TM) 740 (MESA_TURNIP))",
        # logglxinfo
        "FD740",
        # mesa, from the source: freedreno_devices.py, the same hardware as FD740
        "Adreno X1-85",
        # log(Snapdragon G3x Gen 2), "a variant of the Adreno 740"
        "Adreno (TM) A32",
    ],
    "amd-rdna": [
        # apify and creepjs, Chrome on Windows
        "ANGLE (AMD, AMD Radeon RX 5500 XT (0x00007340) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, Radeon RX 6600 XT (0x000073FF) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon RX 7900 XTX (0x0000744C) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon(TM) 780M (0x000015BF) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD RadeonT 660M Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon(TM) Graphics (0x00001681) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        # apify and creepjs, Chrome on macOS
        "ANGLE (AMD, ANGLE Metal Renderer: AMD Radeon Pro 5300, Unspecified Version)",
        "ANGLE (ATI Technologies Inc., AMD Radeon Pro W5700X OpenGL Engine, OpenGL 4.1)",
        # apify and creepjs, Chrome on Linux
        "ANGLE (AMD, AMD Radeon RX 6800 XT (radeonsi navi21 LLVM 20.1.2), OpenGL ES 3.2)",
        "ANGLE (AMD, AMD Ryzen 5 9600X 6-Core Processor (radeonsi raphael_mendocino LLVM 20.1.2), "
        "OpenGL ES 3.2)",
        "ANGLE (AMD, AMD YELLOW_CARP, OpenGL 4.6)",
        "ANGLE (AMD, AMD Radeon Graphics (radeonsi gfx1103_r1 LLVM 17.0.6), OpenGL 4.6)",
        # gecko, a name that Mesa gave
        "AMD Radeon RX 5700 (NAVI10, DRM 3.35.0, 5.4.0-65-generic, LLVM 11.0.0)",
        # logglxinfo of a Steam Deck
        "AMD Custom GPU 0405 (radeonsi, vangogh, LLVM 17.0.6, DRM 3.54, "
        "6.5.0-valve21-1-neptune-65)",
        # logChrome on RADV
        "ANGLE (AMD, Vulkan 1.4.305 (AMD Radeon RX 6650 XT (RADV NAVI23)), radv)",
    ],
    "nvidia": [
        # apify, Chrome on Windows and Linux
        "ANGLE (NVIDIA, NVIDIA RTX A2000 (0x00002531) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (NVIDIA, NVIDIA T1000 8GB (0x00001FF0) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (NVIDIA Corporation, NVIDIA GeForce RTX 3060/PCIe/SSE2, OpenGL 4.5.0)",
        "ANGLE (NVIDIA, Vulkan 1.4.329 (NVIDIA NVIDIA GeForce RTX 3050 Laptop GPU (0x000025A2)), "
        "NVIDIA)",
        "ANGLE (Mesa, zink Vulkan 1.4(NVIDIA GeForce RTX 3070 (NVK GA104) (MESA_NVK)), OpenGL ES "
        "3.2)",
        # Firefox: gecko, and daijro/camoufox pythonlib/camoufox/webgl/webgl_data.db at f1febf49006a
        "GeForce GTX 980, or similar",
        "NVIDIA GeForce GTX 980, or similar",
        "ANGLE (NVIDIA, NVIDIA GeForce GTX 980 Direct3D11 vs_5_0 ps_5_0), or similar",
        # GL itself: gecko; log
        "GeForce RTX 3070/PCIe/SSE2",
        "Quadro P620/PCIe/SSE2",
        # nouveau: creepjs; log(glxinfo); gecko (Kepler)
        "ANGLE (Mesa, NV137, OpenGL ES 3.2)",
        "NV176",
        "NVE7",
        # creepjs, Mesa in Windows' subsystem for Linux
        "ANGLE (Microsoft Corporation, D3D12 (NVIDIA GeForce RTX 2080), OpenGL 4.2)",
    ],
    "intel-gen12": [
        # apify and creepjs, Chrome on Linux: Mesa names the chip behind the name
        "ANGLE (Intel, Mesa Intel(R) Iris(R) Xe Graphics (TGL GT2), OpenGL ES 3.2)",
        "ANGLE (Intel, Mesa Intel(R) Graphics (RKL GT1), OpenGL ES 3.2)",
        "ANGLE (Intel, Mesa Intel(R) UHD Graphics (ADL-S GT0.5), OpenGL ES 3.2)",
        "ANGLE (Intel, Mesa Intel(R) Graphics (ADL GT2), OpenGL ES 3.2)",
        "ANGLE (Intel, Vulkan 1.3.289 (Intel(R) Graphics (RPL-U) (0x0000A7A1)), Intel open-source "
        "Mesa driver)",
        "ANGLE (Intel, Mesa Intel(R) Arc(tm) Graphics (MTL), OpenGL 4.6)",
        # apify and creepjs, Chrome on Windows: the device tells where the name does not
        "ANGLE (Intel, Intel(R) Iris(R) Xe Graphics (0x00009A49) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (Intel, Intel(R) UHD Graphics (0x000046D1) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (Intel, Intel(R) UHD Graphics (0x0000A788) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (Intel, Intel(R) Arc(TM) A770 Graphics (0x000056A0) Direct3D11 vs_5_0 ps_5_0, "
        "D3D11)",
        # creepjs
        "ANGLE (Intel, Mesa Intel(R) UHD Graphics 730 (ADL-S GT1), OpenGL ES 3.2)",
        # Firefox: camoufox' fingerprint-presets-v150.json; gecko, any Arc
        "ANGLE (Intel, Intel(R) Arc(TM) A750 Graphics Direct3D11 vs_5_0 ps_5_0), or similar",
        # logglxinfo
        "Mesa Intel(R) Arc(tm) A770 Graphics (DG2)",
        # log(Rocket Lake on Windows) and 70737227392 (Mesa in Windows'
        # subsystem for Linux)
        "Intel(R) UHD Graphics 750",
        "D3D12 (Intel(R) Iris(R) Xe Graphics)",
    ],
    "videocore-6": [
        # log: glxinfo on a Raspberry Pi 4
        "V3D 4.2",
        # log(the X server's log), 53124481829 (GL_RENDERER, Mesa 25.0.7)
        "V3D 4.2.14",
        "V3D 4.2.14.0",
        # volumio/volumio-os pull 390 (CM4)
        "ANGLE (Broadcom, V3D 4.2.14.0, OpenGL 3.1 Mesa 24.2.8)",
        # log
        "ANGLE (Broadcom, V3D 4.2.14.0, OpenGL ES 3.1 Mesa 25.0.7-2+rpt3)",
        # log
        "ANGLE (Broadcom, V3D 4.2)",
    ],
    "apple": [
        # apify: Safari, everywhere
        "Apple GPU",
        # Firefox, every Apple chip: gecko, apify
        "Apple M1, or similar",
        # apify, Chrome on macOS
        "ANGLE (Apple, ANGLE Metal Renderer: Apple M1 Pro, Unspecified Version)",
        "ANGLE (Apple, ANGLE Metal Renderer: Apple M5 Max, Unspecified Version)",
        "ANGLE (Apple, ANGLE Metal Renderer: Apple A18 Pro, Unspecified Version)",
        "ANGLE (Apple, Apple M2, OpenGL 4.1)",
        "ANGLE (Apple, ANGLE Metal Renderer: Apple Paravirtual device, Unspecified Version)",
        # creepjs
        "Apple A9 GPU",
        "ANGLE (Apple, Apple M1, OpenGL 4.1 Metal - 83)",
        # wheremyfoodat/Panda3DS issue 690
        "Apple M1",
        # logglxinfo with Asahi Linux
        "Apple M1 (G13G B1)",
    ],
    "": [
        # Adreno of other generations: apify, creepjs; log
        "Adreno (TM) 506",
        "ANGLE (Qualcomm, Adreno (TM) 540, OpenGL ES 3.2)",
        "Adreno (TM) 810",
        "Adreno (TM) 830",
        "ANGLE (Qualcomm, Adreno (TM) 830, OpenGL ES 3.2)",
        "zink Vulkan 1.4(Adreno (TM) 830 (MESA_TURNIP))",  # lfdevs/mesa-for-android-container 87
        "Qualcomm(R) Adreno(TM) X2-90 GPU",
        # Firefox's names of several families at once: gecko, apify, creepjs, camoufox
        "Adreno (TM) 540, or similar",  # 5xx
        "Adreno (TM) 650, or similar",  # 6xx, 7xx and 8xx
        "ANGLE (Unknown, Adreno (TM) 650 Direct3D11 vs_5_0 ps_5_0), or similar",
        "Mali-G51, or similar",  # G31 to G78, and G310
        "Mali-T628, or similar",  # G610, G615 and Mali-T6xx
        "Mali-T760, or similar",  # G710 to G720 and Mali-T7xx
        "Mali-T880, or similar",  # G925 and Mali-T8xx
        "Radeon R9 200 Series, or similar",  # all since GCN
        "ANGLE (AMD, Radeon HD 3200 Graphics Direct3D11 vs_5_0 ps_5_0), or similar",  # no number
        "Intel(R) HD Graphics, or similar",  # no number: Gen 7, and Xe
        "ANGLE (Intel, Intel(R) HD Graphics 400 Direct3D11 vs_5_0 ps_5_0), or similar",
        "Mozilla",  # all that resist fingerprinting
        # other Mali and other mobile GPUs: apify, creepjs, css459/arch-linux-arm-clockworkpi-a06
        # issue 4, gecko
        "Mali-T830",
        "Mali-T860 (Panfrost)",
        "ANGLE (ARM, Mali-T720, OpenGL ES 3.1)",
        "PowerVR Rogue GE8320",
        "PowerVR D-Series DXT-48-1536",
        "ANGLE (HUAWEI, Maleoon 910, OpenGL ES 3.2)",
        "ANGLE (Samsung Xclipse 920) on Vulkan 1.3.231",
        # Raspberry Pi 3 and 5: NixOS/nixpkgs issue 200497, OpenStarbound/OpenStarbound issue 597
        "VC4 V3D 2.1",
        "V3D 7.1.10.2",
        "ANGLE (Broadcom, V3D 7.1.10.2, OpenGL ES 3.1 Mesa 25.0.7-2+rpt4)",
        # AMD's GCN and Vega: apify, creepjs, gecko
        "ANGLE (AMD, AMD Radeon RX 580 2048SP (0x00006FDF) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon RX590 GME Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon Pro WX 2100 (0x00006995) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD FirePro S7000 (0x00006808) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon HD 7700 Series (0x00006837) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon(TM) Graphics (0x00001638) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (AMD, AMD Radeon Graphics (radeonsi renoir LLVM 19.1.1), OpenGL 4.6)",
        "ANGLE (AMD, ANGLE Metal Renderer: AMD Radeon Pro 580X, Unspecified Version)",
        "AMD Radeon (TM) RX 460 Graphics (POLARIS11, DRM 3.35.0, 5.4.0-65-generic, LLVM 11.0.0)",
        "Radeon RX Vega",
        "zink Vulkan 1.3(AMD Radeon RX 460 Graphics (RADV POLARIS11))",
        "AMD ARUBA (DRM 2.50.0 / 5.10.42-calculate, LLVM 12.0.1)",
        # Intel before Gen 12: apify, creepjs, gecko
        "ANGLE (Intel, Intel(R) UHD Graphics 630 (0x00003E92) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (Intel, Intel(R) UHD Graphics (0x00009BC4) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (Intel, Intel(R) UHD Graphics (0x00004E61) Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (Intel, Intel(R) Iris(R) Plus Graphics (0x00008A52) Direct3D11 vs_5_0 ps_5_0, "
        "D3D11)",
        "ANGLE (Intel, ANGLE Metal Renderer: Intel(R) Iris(TM) Plus Graphics 645, Unspecified "
        "Version)",
        "ANGLE (Intel, Mesa Intel(R) UHD Graphics (ICL GT1), OpenGL ES 3.2)",
        "ANGLE (Intel, Mesa Intel(R) UHD Graphics (CML GT2), OpenGL ES 3.2)",
        "Mesa Intel(R) UHD Graphics 620 (KBL GT2)",
        "Intel Iris Pro OpenGL Engine",  # pmndrs/detect-gpu, test/data.ts
        # Windows without the device, one name of many generations: creepjs; log
        # 68947323767
        "ANGLE (AMD, AMD Radeon(TM) Graphics Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "ANGLE (Intel, Intel(R) UHD Graphics Direct3D11 vs_5_0 ps_5_0, D3D11)",
        "D3D12 (Intel(R) UHD Graphics)",
        "ANGLE (Microsoft, Microsoft Basic Render Driver (0x0000008C) Direct3D11 vs_5_0 ps_5_0, "
        "D3D11)",
    ],
}
