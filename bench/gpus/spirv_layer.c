// A Vulkan layer that hands every shader module's SPIR-V to a function of the process it is in.
// Structs are those of vulkan.h and vk_layer.h, which need not be installed.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LINK = 0, INSTANCE = 47, DEVICE = 48 };  // VkLayerFunction, VkStructureType
typedef void (*Function)(void);
typedef Function (*Find)(void *, const char *);
typedef struct Link { struct Link *next; Find instance, device; } Link;  // VkLayerDeviceLink
typedef struct Info { int type; struct Info *next; int function; Link *link; } Info;
typedef struct { int type; const void *next; int flags; size_t bytes; const uint32_t *code; } Module;
typedef struct { int type; void *next; uint32_t version; Find instance, device, other; } Negotiated;

void (*spirv_taken)(const uint32_t *code, size_t bytes);
static Find next_instance, next_device;

static Link *take_link(Info *info, int type) {
    while (info->type != type || info->function != LINK) info = info->next;
    Link *link = info->link;
    info->link = link->next;
    return link;
}

static int create_instance(Info *info, const void *allocator, void **instance) {
    next_instance = take_link(info->next, INSTANCE)->instance;
    Function next = next_instance(NULL, "vkCreateInstance");
    return ((int (*)(Info *, const void *, void **))next)(info, allocator, instance);
}

static int create_device(void *gpu, Info *info, const void *allocator, void **device) {
    Link *link = take_link(info->next, DEVICE);
    next_device = link->device;
    Function next = link->instance(NULL, "vkCreateDevice");
    return ((int (*)(void *, Info *, const void *, void **))next)(gpu, info, allocator, device);
}

static int create_module(void *device, Module *module, const void *allocator, uint64_t *made) {
    if (spirv_taken) spirv_taken(module->code, module->bytes);
    Function next = next_device(device, "vkCreateShaderModule");
    return ((int (*)(void *, Module *, const void *, uint64_t *))next)(device, module, allocator, made);
}

static Function own(const char *name);
static Function find_device(void *device, const char *name) {
    Function found = own(name);
    return found ? found : next_device(device, name);
}
static Function find_instance(void *instance, const char *name) {
    Function found = own(name);
    return found ? found : next_instance(instance, name);
}
static Function own(const char *name) {
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (Function)find_instance;
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (Function)find_device;
    if (!strcmp(name, "vkCreateInstance")) return (Function)create_instance;
    if (!strcmp(name, "vkCreateDevice")) return (Function)create_device;
    if (!strcmp(name, "vkCreateShaderModule")) return (Function)create_module;
    return NULL;
}

int vkNegotiateLoaderLayerInterfaceVersion(Negotiated *with) {
    with->version = 2;
    with->instance = find_instance;
    with->device = find_device;
    with->other = NULL;
    return 0;
}
