"""Sending a folder to Hugging Face's hub, only when a person asks for it, as the person that its own tools know."""

from __future__ import annotations

from pathlib import Path

from onym.errors import InputError, missing_extra


def upload(folder: Path, name: str) -> str:
    """Upload a folder as the model `OWNER/NAME` of the hub, and return its address.

    Who uploads is for the hub's own tools to know: no credential passes through Onym.
    """
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError as e:
        raise missing_extra("an upload to the hub", "generative") from e
    try:
        api = HfApi()
        address = str(api.create_repo(name, exist_ok=True))
        api.upload_folder(repo_id=name, folder_path=folder, commit_message="A pack of Onym")
    except (HfHubHTTPError, HFValidationError, OSError, ValueError) as e:
        fix = "check the name, the network, and that you are logged in: hf auth login"
        raise InputError("upload-failed", f"the upload to {name!r} failed", fix=fix) from e
    return address
