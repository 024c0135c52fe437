"""Parameters shared across the layers of an encoder (ALBERT: Lan et al. 2020, section 3.1), or by parts of a model.

Each layer remains a module of its own, so that an adaptation may add other modules to each. Shared weights are saved
once, under their first name.
"""

from typing import Any

from torch import Tensor, nn

from bertlab import recipe


def share(layers: nn.ModuleList, model: recipe.Model) -> None:
    """Gives all layers the sub-layers of the first one that `model` shares, each with its normalisation."""
    first, *others = layers
    for layer in others:
        if model.shares_attention:
            layer.attention, layer.attention_norm = first.attention, first.attention_norm
        if model.shares_feedforward:
            layer.mlp, layer.mlp_norm = first.mlp, first.mlp_norm
    save_once(layers)


def save_once(module: nn.Module) -> None:
    """Lets the state of a module have shared parameters under the first of their names alone."""
    untyped: Any = module
    untyped.register_state_dict_post_hook(_leave_out)
    untyped.register_load_state_dict_pre_hook(_fill_in)


def repeated(module: nn.Module) -> dict[str, Tensor]:
    """The state of a module, with shared parameters under all of their names."""
    state = module.state_dict()
    return {**state, **{name: state[owner] for name, owner in further_names(module).items()}}


def further_names(module: nn.Module) -> dict[str, str]:
    """The further names of parameters and buffers that have several, each with the first name."""
    first: dict[Tensor, str] = {}
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    owners = {name: first.setdefault(value, name) for name, value in named}
    return {name: owner for name, owner in owners.items() if name != owner}


def _leave_out(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Removes shared parameters from a state, except under their first name."""
    for name in further_names(module):
        state.pop(prefix + name, None)


def _fill_in(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Adds the names that `_leave_out` removed."""
    for name, owner in further_names(module).items():
        if prefix + owner in state:
            state.setdefault(prefix + name, state[prefix + owner])
